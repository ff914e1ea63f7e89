import { useEffect, useState } from "preact/hooks";
import { plainText } from "./plain-text";
import { onStreamEvent } from "./session";

/** Edits that begin something new are read out; the many small ones in between are not. */
const READ_OUT = ["question", "time_up", "game_end", "gotcha_bait", "gotcha_reveal"];

/** Reads out what is edited in place: a log only tells what is added. */
export function Announcer({ conversation }: { readonly conversation: string }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    onStreamEvent((event) => {
      if (event.type !== "post" || event.post.by !== "service") return;
      const { message, edits, conversation: where } = event.post;
      if (where !== conversation || edits === 0 || !READ_OUT.includes(message.kind)) return;
      setSaid(plainText(message.text));
    });
    return () => onStreamEvent(() => undefined);
  }, [conversation]);
  return (
    <div class="unseen" role="status" aria-live="polite">
      {said}
    </div>
  );
}
