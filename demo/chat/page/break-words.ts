import type { Break, LinkState } from "../shapes";

/** For each break: the words on its button, and what happens while the bridge is broken. */
export const BREAK_WORDS: Readonly<Record<Break, { readonly button: string; readonly state: string }>> = {
  secret: {
    button: "Wrong secret",
    state:
      "The bridge signs and checks with a wrong secret. It answers pushes with 401, and its requests get 401.",
  },
  slow: {
    button: "Slow bridge",
    state: "The bridge needs 7 seconds to answer a push. The service waits 5 seconds.",
  },
  unavailable: { button: "Answer 503", state: "The bridge answers every push with 503." },
  clock: {
    button: "Clock 6 minutes off",
    state: "The bridge's clock is 6 minutes behind. It answers pushes with 409, and its requests get 409.",
  },
  cut: { button: "Cut the network", state: "Nothing gets through." },
};

const SHORT: Readonly<Record<Break, string>> = {
  secret: "Wrong secret",
  slow: "Too slow",
  unavailable: "Answers 503",
  clock: "Wrong clock",
  cut: "Network cut",
};

/** Returns the CSS class and the text for the state of the bridge. */
export function linkWords({
  mode,
  broken,
  isSwitching,
  problem,
}: LinkState): readonly [tone: string, words: string] {
  if (broken !== null) return ["bad", SHORT[broken.how]];
  if (isSwitching) return ["warn", "Switching"];
  if (problem !== null) return ["warn", "Not connected"];
  return ["good", mode === "poll" ? "Polling" : "Push"];
}

/** Returns what a repair does, and what the dashboard shows; "" while the bridge is not broken. */
export function repairWords({ mode, broken }: LinkState): string {
  if (broken === null) return "";
  if (mode === "push")
    return "The dashboard says why. After the repair, send the failed events again in the dashboard.";
  return broken.how === "cut"
    ? "When you repair the network, the bridge catches up with the held events."
    : "The dashboard says why. After the repair, the bridge catches up with the held events.";
}
