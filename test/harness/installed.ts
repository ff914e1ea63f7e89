import { spawnSync } from "node:child_process";

/**
 * Returns `test` if all programs are installed, and otherwise `test.skip`. Each program is listed with the argument
 * that prints its version.
 */
export function testWith(...needed: readonly (readonly [string, string])[]): jest.It {
  return needed.every(([program, version]) => spawnSync(program, [version]).status === 0) ? test : test.skip;
}
