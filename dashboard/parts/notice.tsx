import type { ComponentChildren } from "preact";
import type { ApiError } from "../api";
import type { Tone } from "../words/health-words";
import { ActionButton } from "./action-button";
import { Icon } from "./icon";

export interface NoticeProps {
  readonly tone: Exclude<Tone, "idle">;
  readonly children: ComponentChildren;
  /** Called when the user presses the button "Try again" below the text; without this function, there is no button. */
  readonly again?: (() => void) | undefined;
}

/** A message about the page, a card or a form. Screen readers read a warning or an error out when it appears. */
export function Notice({ tone, children, again }: NoticeProps) {
  return (
    <div class={`notice tone-${tone}`} {...(tone === "good" ? {} : { role: "alert" })}>
      <Icon name={tone === "good" ? "done" : "warn"} />
      <div class="notice-words">
        <p>{children}</p>
        {again !== undefined && <ActionButton onClick={again}>Try again</ActionButton>}
      </div>
    </div>
  );
}

/** Shows the error of a request, if any. */
export function ErrorNotice({
  error,
  again,
}: {
  readonly error: ApiError | undefined;
  readonly again?: (() => void) | undefined;
}) {
  if (error === undefined) return null;
  return (
    <Notice tone="bad" again={again}>
      {error.message}
    </Notice>
  );
}
