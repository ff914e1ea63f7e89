import { useNow } from "./clock";
import type { GameData } from "./game-data";

/**
 * Shows the seconds until the end of a phase, and for a question also a bar. The countdown is hidden from screen
 * readers, because it changes every second.
 */
export function TimeLeft({ data, endsAtMs }: { readonly data: GameData; readonly endsAtMs: number }) {
  const left = Math.max(0, Math.ceil((endsAtMs - useNow(250)) / 1000));
  const isQuestion = data.phase === "question";
  return (
    <span class="time-left" aria-hidden="true">
      {isQuestion && data.seconds !== undefined && <progress max={data.seconds} value={left} />}
      {wordsOf(data)} {left} s
    </span>
  );
}

function wordsOf({ phase, question, questions }: GameData): string {
  if (phase === "lobby") return "Starts in";
  if (phase === "reveal") return question === questions ? "Final board in" : "Next question in";
  return "Time left";
}
