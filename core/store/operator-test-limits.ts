import { createHash } from "node:crypto";
import { OPERATOR_TEST_LIMITS } from "../domain/bounds";
import type { OperatorTestLimits } from "../ports/limits";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import { asNumber } from "./redis/reply";
import { retryAfterSeconds } from "./request-limits";

/** The name under which the tests of the installation's addresses are counted. No workspace has this id. */
const INSTALLATION = "installation";
const LIMITS = OPERATOR_TEST_LIMITS.flatMap(({ max, seconds }) => [String(max), String(seconds)]);

export function createOperatorTestLimits(functions: Functions, keys: Keys): OperatorTestLimits {
  async function admit(name: string): Promise<number | undefined> {
    const waitUs = asNumber(await functions.call("admit_test", keys.prefixOf(name), [name, ...LIMITS]));
    return waitUs === 0 ? undefined : retryAfterSeconds(waitUs);
  }
  return {
    async admit(workspaceId, email) {
      const ofWorkspace = await admit(workspaceId ?? INSTALLATION);
      if (ofWorkspace !== undefined) {
        const of = workspaceId === undefined ? "the installation's addresses" : "the workspace's address";
        return { of, afterSeconds: ofWorkspace };
      }
      // The key has only a digest of the address, because an address can be long.
      const ofEmail =
        email === undefined
          ? undefined
          : await admit(createHash("sha256").update(email.toLowerCase()).digest("hex"));
      return ofEmail === undefined ? undefined : { of: "this email address", afterSeconds: ofEmail };
    },
  };
}
