import { PageHeading } from "../parts/page-heading";
import { Link } from "../router";
import { useSession } from "../session";

/** The page of a workspace that does not exist, or that the user's token cannot see. */
export function NoWorkspace() {
  const session = useSession();
  const isLimited = (session?.workspaces ?? null) !== null;
  return (
    <div class="narrow">
      <PageHeading title="There is no such workspace" />
      {isLimited ? (
        <p>
          It was deleted, the address is incorrect, or the token <strong>{session?.tokenName}</strong> is not
          valid for it. To see other workspaces, sign in with a token that is not limited.
        </p>
      ) : (
        <p>It was deleted, or the address is incorrect.</p>
      )}
      <Link href="/">All workspaces</Link>
    </div>
  );
}
