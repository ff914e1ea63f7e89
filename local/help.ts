import { LISTENERS } from "./start-settings";

const listeners = Object.entries(LISTENERS).map(
  ([name, { what, fallback }]) => `  ${name.padEnd(20)}${what}: ${fallback}`,
);

/** What `npm start -- --help` prints. */
export const HELP = `npm start runs the whole service on this machine: a Redis of its own, core (gRPC, for
games), an edge (HTTP, for bridges) and a demo workspace to try them with. Needs Node 20.

  npm start             build, start, and print what to try; Ctrl-C stops it
  npm start -- --help   this page

Redis is the one that REDIS_URL names; else a redis-server or valkey-server (7 or later) on the
PATH is started; else apt-get, dnf, apk or brew installs one, where the rights allow.

What is held, and what was made at the first start (tokens, keys, the demo workspace), is kept in
.data/, so it is there at the next start. Remove the folder to begin anew. Logs are in .data/logs/.

Settings, from the environment:

  DATA_DIR            another folder than .data
  REDIS_URL           a Redis that runs already: redis://host:port, rediss://… or unix:///path
${listeners.join("\n")}
                      (host:port; port 0 takes any that is free)

The further settings of core and the edge, such as LOG_LEVEL, work too: the README lists them.
Example: EDGE_LISTEN=0.0.0.0:9000 DATA_DIR=/tmp/trial npm start
`;
