import { COMMAND } from "./shapes";

/** The text that `--help` prints. */
export const HELP = `A demo chat: two channels in the browser, and a bridge, built with the kit, that joins them to
the service. npm start runs it together with a game.

  node dist/demo/chat/main.js            runs it; Ctrl-C stops it
  node dist/demo/chat/main.js --help     this page

In the chat, ${COMMAND} is the command; without arguments it shows help. Posts are kept in memory only.

Settings, from the environment:

  BASE_URL             where bridges reach the service: http://127.0.0.1:8080 (required)
  WORKSPACE_ID         the id of a workspace, from the dashboard (required)
  SIGNING_SECRET       its signing secret (required)
  CHAT_LISTEN          where the page is served: 127.0.0.1:8083
  CHAT_HOSTS           host names under which the page is opened, separated by commas; addresses and
                       localhost always work
  IMAGE_SOURCES        where images of messages may come from: "https: http://127.0.0.1:*"
  HEALTH_LISTEN        where /live and /ready are answered: 127.0.0.1:8085
  PUSH_TLS_CERT, PUSH_TLS_KEY
                       PEM files; with both, the chat can receive pushes as well
  PUSH_LISTEN          where pushes arrive, at /pushes: 127.0.0.1:8084
  TARGET_URL           where the service reaches that listener, if elsewhere: https://chat.example/pushes
  CHAT_OBSERVE         on: /observe, on the listener for pushes, returns everything that the chat shows to
                       requests signed with the secret, for chat-bridge-check: off
  MODE_SOCKET          the Unix socket by which the page's switch sets the target URL (npm start provides it)
  LOG_LEVEL            fatal, error, warn, info, debug, trace or silent: info
`;
