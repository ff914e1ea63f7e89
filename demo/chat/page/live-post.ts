import { useEffect, useState } from "preact/hooks";
import type { Post, ServicePost } from "../shapes";
import { readGameData } from "./game-data";

/** The kinds of the messages of a running game. */
const LIVE_KINDS = ["game_start", "question", "answer_update", "time_up", "gotcha_bait", "gotcha_reveal"];
/** A game counts as ended if it sends no update within this many milliseconds after the end of a phase. */
const GRACE_MS = 60_000;
/** Milliseconds after which a message counts as ended, if its data does not contain the end of its phase. */
const LIVE_MS = 10 * 60_000;

/** Returns the newest message of a running game; undefined if no game is running. */
export function useLivePost(posts: readonly Post[]): ServicePost | undefined {
  const post = posts.findLast(
    (each): each is ServicePost =>
      each.by === "service" && each.onlyFor === null && LIVE_KINDS.includes(each.message.kind),
  );
  const untilMs = post === undefined ? 0 : liveUntil(post);
  const [, redraw] = useState(0);
  useEffect(() => {
    const leftMs = untilMs - Date.now();
    if (leftMs <= 0) return undefined;
    const timer = setTimeout(() => redraw(untilMs), leftMs + 1);
    return () => clearTimeout(timer);
  }, [untilMs]);
  return Date.now() < untilMs ? post : undefined;
}

function liveUntil({ message, changedAt }: ServicePost): number {
  const { endsAtMs } = readGameData(message);
  return endsAtMs === undefined ? Date.parse(changedAt) + LIVE_MS : endsAtMs + GRACE_MS;
}
