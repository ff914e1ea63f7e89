import { refusalWords } from "../../contract/request-words";
import { REFUSAL_STATUS } from "../../contract/requests";
import type { RefusedShape } from "../../proto/json/shapes";

/** Says why a request was refused, and how to fix the request. The steps of a new bridge show this text. */
export function refusalSentence(refused: RefusedShape): string {
  const { reason, fix } = refusalWords(refused);
  return `${REFUSAL_STATUS[refused.kind]}: ${reason} ${fix}`;
}
