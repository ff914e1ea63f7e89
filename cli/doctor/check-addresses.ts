import { randomUUID } from "node:crypto";
import type { CoreConnection } from "../../runtime/core-connection";
import { INVENTED_ADDRESS, judgeAddresses } from "./address-checks";
import { createAsker } from "./ask-cores";
import { parseCoreTarget } from "./core-addresses";
import { skipped, type Finding } from "./finding";
import { addressesOf, hookUrl, probeHttp } from "./probe-http";
import { lookedUp } from "./within";

const CHECK = "edge-address";
/** Time limit of each of the three steps, in milliseconds. */
const STEP_MS = 3_500;

/**
 * Finds out which client address an edge sees. Announces two random ids to the cores, and polls the address for bridges
 * with these ids. Then asks the cores from which addresses the polls came.
 */
export async function checkAddresses(connection: CoreConnection, base: URL): Promise<Finding> {
  const target = parseCoreTarget(connection.address);
  const asker = createAsker(connection, target.name, STEP_MS);
  const found = await lookedUp(Promise.all([target.addresses(), addressesOf(base)])).catch(() => undefined);
  const [cores = [], [remote] = []] = found ?? [];
  if (remote === undefined) return skipped(CHECK, "the address of core, or for bridges, cannot be looked up");
  const [plain, invented] = [randomUUID(), randomUUID()];
  const ask = async (id: string): Promise<string | undefined> => {
    const answers = await Promise.all(cores.map((core) => asker.probedAddress(core, id)));
    return (
      answers.find((answer) => answer !== "" && answer !== undefined) ??
      answers.find((answer) => answer === "")
    );
  };
  const announced = await Promise.all([ask(plain), ask(invented)]);
  if (announced.includes(undefined)) return skipped(CHECK, "no core answered");
  const poll = (id: string, headers: Readonly<Record<string, string>>) =>
    probeHttp({ url: hookUrl(base, id, "/events"), address: remote, headers }, STEP_MS);
  const [answer] = await Promise.all([
    poll(plain, {}),
    poll(invented, { "X-Forwarded-For": INVENTED_ADDRESS }),
  ]);
  if ("failed" in answer) return skipped(CHECK, "the address for bridges does not answer");
  const [seen = "", seenInvented = ""] = await Promise.all([ask(plain), ask(invented)]);
  return judgeAddresses({ seen, seenInvented, local: plainAddress(answer.localAddress), remote });
}

/** Returns an IPv4-mapped IPv6 address as an IPv4 address, like an edge. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}
