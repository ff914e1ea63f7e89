import { useRef } from "preact/hooks";
import { PHASE_KINDS } from "../../../contract/messages";
import type { Post, ServicePost } from "../shapes";
import { plainText } from "./rich-text";

/**
 * Makes screen readers announce each new phase of a game. Regions with the role `log` announce new messages, but not
 * edits.
 */
export function Announcer({ posts }: { readonly posts: readonly Post[] }) {
  const said = useRef("");
  const edited = posts.findLast((post): post is ServicePost => post.by === "service" && post.edits > 0);
  if (edited !== undefined && PHASE_KINDS.some((kind) => kind === edited.message.kind)) {
    said.current = plainText(edited.message.text);
  }
  return (
    <div class="unseen" role="status" aria-live="polite">
      {said.current}
    </div>
  );
}
