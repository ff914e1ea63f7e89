import type { LinkState } from "../shapes";

export interface LinkWords {
  readonly tone: "good" | "warn" | "bad";
  readonly text: string;
}

/** The state of the bridge in a few words. */
export function linkWords({ mode, isCut, isSwitching, problem }: LinkState): LinkWords {
  if (isCut) return { tone: "bad", text: "Network cut" };
  if (isSwitching) return { tone: "warn", text: "Switching" };
  if (problem !== null) return { tone: "warn", text: "Not connected" };
  return { tone: "good", text: mode === "poll" ? "Polling" : "Receiving pushes" };
}
