/**
 * A process that locks the folder FOLDER after each line of its input. It first prints `ready`, and then `held`, or the message of the error,
 * and keeps the lock until it is killed.
 */
import { createInterface } from "node:readline";
import { lockFolder } from "../../folder-lock";

const { FOLDER = "" } = process.env;

createInterface({ input: process.stdin }).on("line", () => {
  lockFolder(FOLDER).then(
    () => process.stdout.write("held\n"),
    (error: unknown) => process.stdout.write(`${(error as Error).message}\n`),
  );
});
process.stdout.write("ready\n");
