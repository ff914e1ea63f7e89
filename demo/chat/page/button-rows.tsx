import { useState } from "preact/hooks";
import type { ServicePost } from "../shapes";
import type { ChatClient } from "./chat-client";
import { Icon } from "./marks";
import { useRequest } from "./use-request";

/**
 * The buttons under a message. Only one press is in progress at a time. The effect of a press arrives later, in the
 * event stream.
 */
export function ButtonRows({ post, client }: { readonly post: ServicePost; readonly client: ChatClient }) {
  const [pressed, setPressed] = useState<string | undefined>(undefined);
  const { fault, send } = useRequest();
  async function press(action: string): Promise<void> {
    if (pressed !== undefined) return;
    setPressed(action);
    await send(() => client.press(post.id, action));
    setPressed(undefined);
  }
  return (
    <>
      {post.message.buttons.map((row, i) => (
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
      <p class="fault" role="alert">
        {fault}
      </p>
    </>
  );
}
