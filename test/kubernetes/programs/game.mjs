// A game that answers each command once. The game runs in a pod, and uses the game kit in the service's image.
import { createRequire } from "node:module";

const { createGame, startGame } = createRequire("/app/dist/")("./kit/game/index.js");

const game = createGame({ name: "echo", per: "workspace", state: () => ({ answers: 0 }) });
game.command("say", "answers", (turn) => {
  turn.state.answers++;
  turn.reply("heard");
});
await startGame(game);
