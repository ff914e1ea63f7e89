import { refusalWords } from "../../contract/request-words";
import { REFUSAL_STATUS } from "../../contract/requests";
import type { RefusedShape } from "../../proto/json/shapes";

/** Says why a request was refused, and what to do, for the steps of a new bridge. */
export function refusalSentence(refused: RefusedShape): string {
  const { reason, fix } = refusalWords(refused);
  return `${REFUSAL_STATUS[refused.kind]}: ${reason} ${fix}`;
}
