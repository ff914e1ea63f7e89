import { useState } from "preact/hooks";
import { ActionButton } from "../parts/action-button";
import { Field, FormFault } from "../parts/field";
import { PageHeading } from "../parts/page-heading";
import { signIn } from "../session";
import { useAction } from "../use-action";

export function SignInPage({ why }: { readonly why: string | undefined }) {
  const [token, setToken] = useState("");
  const entering = useAction(async () => signIn(token.trim()));
  return (
    <div class="narrow">
      <PageHeading title="Sign in" />
      {why !== undefined && (
        <p class="notice tone-warn" role="alert">
          {why}
        </p>
      )}
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          entering.run();
        }}
      >
        <Field
          label="Operator's token"
          name="token"
          type="password"
          value={token}
          onText={setToken}
          error={entering.error}
          required
          hint={
            <>
              One of core's <code>CORE_TOKENS</code> with the role <code>operator</code>.{" "}
              <code>npm start</code> prints it, and a link that signs you in.
            </>
          }
        />
        <FormFault error={entering.error} fields={["token"]} />
        <ActionButton type="submit" look="primary" pending={entering.pending}>
          Sign in
        </ActionButton>
      </form>
      <p class="hint">Only the server checks and keeps the token. Your browser gets a session.</p>
    </div>
  );
}
