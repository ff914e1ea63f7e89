import type { Part } from "../part";
import { growth } from "./growth";
import { idle } from "./idle";
import { inbound } from "./inbound";
import { isolation } from "./isolation";
import { latency } from "./latency";
import { memory } from "./memory";
import { mixed } from "./mixed";
import { pollEmpty } from "./poll-empty";
import { pollFew, pollPage } from "./poll-page";
import { publish } from "./publish";
import { push } from "./push";
import { retries } from "./retries";

/** All parts, in the order of a run. */
export const PARTS: readonly Part[] = [
  inbound,
  pollEmpty,
  pollFew,
  pollPage,
  push,
  publish,
  latency,
  mixed,
  idle,
  retries,
  isolation,
  memory,
  growth,
];
