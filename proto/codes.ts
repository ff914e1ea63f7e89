import { CHANGE_NAMES } from "../contract/changes";
import { ATTEMPT_STEPS, DELIVERY_RESULTS, EVENT_PLACES, SEND_AGAIN_RESULTS } from "../contract/deliveries";
import { HEALTH_STATES } from "../contract/health-states";
import { MESSAGE_KINDS } from "../contract/messages";
import { REQUEST_KINDS, SIGNATURE_CAUSES } from "../contract/requests";
import { WORKSPACE_STATES } from "../contract/workspace-states";
import { MessageKind } from "./gen/chatbridge/v1/event";
import {
  ChangeKind,
  DeliveryResult,
  EventPlace,
  HealthState,
  PushStep,
  RequestKind,
  SendAgainOutcome,
  SignatureCause,
  WorkspaceState,
} from "./gen/chatbridge/v1/workspace";

/** Returns the code of each word in a proto enum, e.g. the code of `REFUSED_ADDRESS` for the word `refused-address`. */
function codesOf<Word extends string, Code extends number>(
  words: readonly Word[],
  codes: Readonly<Record<string, Code | string>>,
): Readonly<Record<Word, Code>> {
  const entries = words.map((word) => [word, codes[word.toUpperCase().replaceAll("-", "_")]]);
  return Object.fromEntries(entries) as Readonly<Record<Word, Code>>;
}

/** Returns a map from each code to its word. */
function wordsOf<Word extends string, Code>(codes: Readonly<Record<Word, Code>>): ReadonlyMap<Code, Word> {
  return new Map((Object.keys(codes) as Word[]).map((word) => [codes[word], word]));
}

export const RESULT_CODES = codesOf(DELIVERY_RESULTS, DeliveryResult);
export const RESULT_WORDS = wordsOf(RESULT_CODES);
export const STEP_CODES = codesOf(ATTEMPT_STEPS, PushStep);
export const STEP_WORDS = wordsOf(STEP_CODES);
export const KIND_WORDS = wordsOf(codesOf(MESSAGE_KINDS, MessageKind));
export const CHANGE_CODES = codesOf(CHANGE_NAMES, ChangeKind);
export const CHANGE_WORDS = wordsOf(CHANGE_CODES);
export const SEND_AGAIN_CODES = codesOf(SEND_AGAIN_RESULTS, SendAgainOutcome);
export const SEND_AGAIN_WORDS = wordsOf(SEND_AGAIN_CODES);
export const PLACE_CODES = codesOf(EVENT_PLACES, EventPlace);
export const PLACE_WORDS = wordsOf(PLACE_CODES);
export const STATE_CODES = codesOf(HEALTH_STATES, HealthState);
export const STATE_WORDS = wordsOf(STATE_CODES);
export const REQUEST_CODES = codesOf(REQUEST_KINDS, RequestKind);
export const REQUEST_WORDS = wordsOf(REQUEST_CODES);
export const CAUSE_CODES = codesOf(SIGNATURE_CAUSES, SignatureCause);
export const CAUSE_WORDS = wordsOf(CAUSE_CODES);
export const WORKSPACE_STATE_CODES = codesOf(WORKSPACE_STATES, WorkspaceState);
export const WORKSPACE_STATE_WORDS = wordsOf(WORKSPACE_STATE_CODES);

/**
 * Start of the status details with which core rejects requests that add data while the store is full. The status is
 * UNAVAILABLE.
 */
export const STORE_FULL = "the store is full";
