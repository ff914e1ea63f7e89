import { useSession } from "../session";

/** Says that the user cannot connect a workspace, because the user's token is limited to some workspaces. */
export function LimitedToken() {
  const session = useSession();
  const count = session?.workspaces?.length ?? 0;
  return (
    <p class="hint">
      The token <strong>{session?.tokenName}</strong> is limited to {count}{" "}
      {count === 1 ? "workspace" : "workspaces"}. To connect another workspace, sign in with a token that is
      not limited.
    </p>
  );
}
