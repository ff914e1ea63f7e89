import { announce } from "../announce";
import { ActionButton } from "./action-button";
import { Icon } from "./icon";

/** Copies `text`. `what` names the text in messages, e.g. "the signing secret". */
export function CopyButton({
  text,
  what,
  short = false,
}: {
  readonly text: string;
  readonly what: string;
  readonly short?: boolean;
}) {
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      announce(`Copied ${what}.`);
    } catch {
      announce(`Your browser did not allow copying: select ${what} and copy it by hand.`, "bad");
    }
  }
  return (
    <ActionButton look={short ? "quiet" : "plain"} aria-label={`Copy ${what}`} onClick={() => void copy()}>
      <Icon name="copy" />
      {!short && "Copy"}
    </ActionButton>
  );
}
