import { useEffect, useState } from "preact/hooks";
import { plainText } from "./plain-text";
import { onStreamEvent } from "./session";

/** Kinds of messages whose edits start a new phase. Only these edits are read out. */
const READ_OUT = ["question", "time_up", "game_end", "gotcha_bait", "gotcha_reveal"];

/** Has screen readers read out edits in place, because a `log` region announces only additions. */
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
