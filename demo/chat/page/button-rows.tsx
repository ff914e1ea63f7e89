import { useState } from "preact/hooks";
import type { ServicePost } from "../shapes";
import { ChatError, type ChatClient } from "./chat-client";
import { Icon } from "./icon";

export interface ButtonRowsProps {
  readonly post: ServicePost;
  readonly client: ChatClient;
}

/** The buttons under a message. One press is in progress at a time; its effect arrives as another event. */
export function ButtonRows({ post, client }: ButtonRowsProps) {
  const [pressed, setPressed] = useState<string | undefined>(undefined);
  const [fault, setFault] = useState("");
  async function press(action: string): Promise<void> {
    if (pressed !== undefined) return;
    setPressed(action);
    setFault("");
    try {
      await client.press(post.id, action);
    } catch (error) {
      setFault(error instanceof ChatError ? error.message : String(error));
    } finally {
      setPressed(undefined);
    }
  }
  const { buttons } = post.message;
  return (
    <>
      {buttons.length > 0 && (
        <div class="button-rows">
          {buttons.map((row, i) => (
            <div class="button-row" key={i}>
              {row.map((button, j) =>
                "url" in button ? (
                  <a key={j} class="button" href={button.url} target="_blank" rel="noreferrer noopener">
                    {button.label} <Icon name="link" />
                    <span class="unseen">(opens another page)</span>
                  </a>
                ) : (
                  <button
                    key={j}
                    type="button"
                    class="button"
                    aria-disabled={pressed !== undefined}
                    aria-busy={pressed === button.action}
                    onClick={() => void press(button.action)}
                  >
                    {button.label}
                  </button>
                ),
              )}
            </div>
          ))}
        </div>
      )}
      <p class="fault" role="alert">
        {fault}
      </p>
    </>
  );
}
