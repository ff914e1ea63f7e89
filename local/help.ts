import { LISTENERS } from "./start-settings";

const listeners = Object.entries(LISTENERS).map(
  ([name, { what, fallback }]) => `  ${name.padEnd(22)}${what}: ${fallback}`,
);

/** What `npm start -- --help` prints. */
export const HELP = `npm start runs the whole service on this machine: a Redis of its own, core (gRPC, for
games), an edge (HTTP, for bridges), the dashboard (for people), and to try them with a demo
workspace, a game and a chat to play it in. Needs Node 20.19, better 24; openssl, if the chat is to be pushed to.

  npm start             build, start, and print what to try; Ctrl-C stops it
  npm start -- --help   this page

Redis is the one that REDIS_URL names; else a redis-server or valkey-server (7 or later) on the
PATH is started; else apt-get, dnf, apk or brew installs one, where the rights allow.

What is held, and what was made at the first start (tokens, keys, the demo workspace), is kept in
.data/, so it is there at the next start. Remove the folder to begin anew. Logs are in .data/logs/.

Settings, from the environment:

  DATA_DIR              another folder than .data
  DEMO                  off leaves the game and the chat out
  REDIS_URL             a Redis that runs already: redis://host:port, rediss://… or unix:///path
${listeners.join("\n")}
                        (host:port; port 0 takes any that is free)

The further settings of core and the edge, such as LOG_LEVEL, work too: docs/operator-guide.md has them.
Example: EDGE_LISTEN=0.0.0.0:9000 DATA_DIR=/tmp/trial npm start
`;
