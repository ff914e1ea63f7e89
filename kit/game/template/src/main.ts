// src/main.ts: runs the game
import { startGame } from "chat-bridge-game";
import { game } from "./game.js";

await startGame(game);
