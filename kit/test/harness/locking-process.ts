/**
 * A process that locks the folder FOLDER after each line of its input. The process first prints `ready`. For each line,
 * it prints `held`, or an error message if it cannot lock the folder. It keeps the lock until it is killed.
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
