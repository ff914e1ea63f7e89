import { hostname } from "node:os";
import type { Command } from "commander";
import { addTailDeliveries } from "./tail-deliveries";
import { addTailEvents } from "./tail-events";
import type { Cli } from "./cli";

/** `chat-bridge tail …`: what happens, as it happens. */
export function addTail(program: Command, cli: Cli): void {
  const tail = program
    .command("tail")
    .description("show what happens, as it happens; Ctrl-C ends it")
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
