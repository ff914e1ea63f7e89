/** The text that `--help` prints. */
export const HELP = `The trivia game: an example of a game service. It follows what members do in the chats of all
workspaces and publishes what the chats should show, over core's gRPC alone.

  node dist/demo/game/main.js            runs it; Ctrl-C stops it and ends its games
  node dist/demo/game/main.js --help     this page

In the chat, send the command with "start" to open a game, or without arguments for help.

Settings, from the environment:

  CORE_TOKEN           a token of the role "game", listed in core's CORE_TOKENS (required)
  CORE_ADDRESS         where core is: 127.0.0.1:50051
  CORE_TLS_CA          PEM file of the authority of core's certificate; turns TLS on
  CORE_TLS_CERT, CORE_TLS_KEY
                       PEM files, both or neither: the certificate shown to core, and its key
  FOLLOW_GROUP         name of the group that follows events: trivia
  FOLLOW_CONSUMER      name of this process in the group: one
  HEALTH_LISTEN        where /live and /ready are answered: 127.0.0.1:8091
  PICTURES_LISTEN      where the pictures of questions are served: 127.0.0.1:8090
  PICTURES_URL         where the chat reaches them, if elsewhere: https://pictures.example/trivia/
  ROUNDS               questions of a game, 1 to 15: 5 (channels may set their own)
  QUESTION_SECONDS     how long a question is open, 5 to 60: 20 (channels may set their own)
  LOBBY_SECONDS        how long a lobby is open, 1 to 600: 60
  REVEAL_SECONDS       how long an answer is shown, 1 to 60: 6
  LOG_LEVEL            fatal, error, warn, info, debug, trace or silent: info
`;
