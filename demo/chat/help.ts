import { COMMAND } from "./shapes";

/** What `--help` prints. */
export const HELP = `A chat to play in: two channels in the browser, and a bridge made with the kit that joins them to
the service. npm start runs it, with a game to play.

  node dist/demo/chat/main.js            runs it; Ctrl-C stops it
  node dist/demo/chat/main.js --help     this page

In the chat, ${COMMAND} is the command; alone it asks for help. All that is said is kept in memory.

Settings, from the environment:

  BASE_URL             where bridges reach the service: http://127.0.0.1:8080 (required)
  WORKSPACE_ID         the id of a workspace, from the dashboard (required)
  SIGNING_SECRET       its signing secret (required)
  CHAT_LISTEN          where the page is served: 127.0.0.1:8083
  CHAT_HOSTS           names that people open the page under, with commas between; addresses and
                       localhost always work
  IMAGE_SOURCES        where images of messages may come from: "https: http://127.0.0.1:*"
  HEALTH_LISTEN        where /live and /ready are answered: 127.0.0.1:8085
  PUSH_TLS_CERT, PUSH_TLS_KEY
                       PEM files, together: with them it can be pushed to as well
  PUSH_LISTEN          where pushes arrive, at /pushes: 127.0.0.1:8084
  TARGET_URL           where the service finds that, if elsewhere: https://chat.example/pushes
  CHAT_OBSERVE         on: what the chat shows, to everyone and to each, is answered at /observe beside
                       /pushes to whoever signs with the secret, for chat-bridge-check: off
  MODE_SOCKET          the Unix socket of whoever sets the target URL for the page's switch (npm start does)
  LOG_LEVEL            fatal, error, warn, info, debug, trace or silent: info
`;
