import type { ActionButton, Button } from "../shapes";
import { Icon } from "./marks";

export interface ButtonRowsProps {
  readonly rows: readonly (readonly Button[])[];
  /** Whether buttons with actions can be pressed. */
  readonly isOpen: boolean;
  /** Whether links can be opened. */
  readonly isSettled: boolean;
  /** Action of the button whose press is in progress. */
  readonly pending: string | undefined;
  /** Index, among all buttons, of the button that the member has chosen. */
  readonly chosen: number | undefined;
  onPress(button: ActionButton): void;
}

/** The buttons under a message. Buttons that cannot be pressed keep the focus. */
export function ButtonRows({ rows, isOpen, isSettled, pending, chosen, onPress }: ButtonRowsProps) {
  const chosenButton = chosen === undefined ? undefined : rows.flat()[chosen];
  return rows.map((row, i) => (
    <div class="button-row" key={i}>
      {row.map((button, j) =>
        "url" in button ? (
          <a
            key={j}
            class="button"
            href={button.url}
            target="_blank"
            rel="noreferrer noopener"
            aria-disabled={!isSettled}
            onClick={(event) => {
              if (!isSettled) event.preventDefault();
            }}
          >
            {button.label} <Icon name="link" />
            <span class="unseen">(opens another page)</span>
          </a>
        ) : (
          <button
            key={j}
            type="button"
            class={button === chosenButton ? "button chosen" : "button"}
            aria-disabled={!isOpen}
            aria-busy={pending === button.action}
            onClick={() => {
              if (isOpen) onPress(button);
            }}
          >
            {button === chosenButton && <Icon name="check" />}
            <span>{button.label}</span>
            {button === chosenButton && <span class="unseen"> (your answer)</span>}
          </button>
        ),
      )}
    </div>
  ));
}
