import { LISTENERS } from "./start-settings";

const listeners = Object.entries(LISTENERS).map(
  ([name, { what, fallback }]) => `  ${name.padEnd(22)}${what}: ${fallback}`,
);

/** The output of `npm start -- --help`. */
export const HELP = `npm start runs the whole service on this machine: a private Redis, core (gRPC, for games), an
edge (HTTP, for bridges) and the dashboard (for people). It also runs a demo: a workspace, a
game, and a chat to play the game in. npm start needs Node 20.19 or later, preferably 24, and
openssl for pushes to the chat.

  npm start             build, start, and print where to play; Ctrl-C or SIGTERM stops the service
  npm start -- --commands
                        print the tokens, secrets and addresses of the service that runs in the
                        data folder, and commands to paste; run this in another terminal
  npm start -- --with irc
                        also run an IRC server (ngIRCd, which must be installed) and its bridge, so
                        that the game can be played with IRC clients
  npm start -- --with matrix
                        the same with a Matrix homeserver (Synapse)
  npm start -- --with xmpp
                        the same with an XMPP server (Prosody); --with can be repeated
  npm start -- --help   print this page
  npm start -- --version
                        print the version

The service uses the Redis that REDIS_URL names. If REDIS_URL is not set, npm start starts the
redis-server or valkey-server (7 or later) that is on the PATH. If neither is on the PATH, npm start
installs a server with apt-get, dnf, apk or brew, provided that the user has the rights.

All data, and the tokens, keys and demo workspace of the first start, are kept in .data/ for the
next start. Remove the folder to start from scratch. Logs are in .data/logs/.

Settings, from the environment:

  DATA_DIR              folder to use instead of .data
  DEMO                  off starts neither the game nor the chat
  CHAT_DASHBOARD        off: the chat does not sign its members in to the dashboard
  SYNAPSE_VENV          folder of the Python virtual environment that contains Synapse
  REDIS_URL             a running Redis: redis://host:port, rediss://… or unix:///path
${listeners.join("\n")}
                        (host:port; port 0 uses any free port)

The other settings of core and the edge, such as LOG_LEVEL, work too: see docs/settings.md.
Example: EDGE_LISTEN=0.0.0.0:9000 DATA_DIR=/tmp/trial npm start`;
