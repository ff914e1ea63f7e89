// Installs the old versions of TypeScript that the kit's types support, and prints the paths of their compilers.
import { installTypeScripts } from "./runtimes.mjs";

process.stdout.write(`${installTypeScripts().join("\n")}\n`);
