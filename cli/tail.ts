import { hostname } from "node:os";
import type { Command } from "commander";
import { addTailDeliveries } from "./tail-deliveries";
import { addTailEvents } from "./tail-events";
import type { Cli } from "./cli";

/** `chat-bridge tail …` shows deliveries or events live. */
export function addTail(program: Command, cli: Cli): void {
  const tail = program
    .command("tail")
    .description("show deliveries or events live, until Ctrl-C")
    .addHelpText(
      "after",
      `
Examples:
  $ chat-bridge tail deliveries <workspace>
  $ chat-bridge tail events --json | jq .event.text`,
    );
  addTailDeliveries(tail, cli);
  addTailEvents(tail, cli, `${hostname()}-${process.pid}`.replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(-64));
}
