import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Action } from "../use-action";
import { ActionButton } from "./action-button";
import { Form } from "./form";

export interface ConfirmDialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Label of the button that runs `action`. */
  readonly confirm: string;
  readonly action: Action<[]>;
  /** Names of the fields in `children` that show the server's errors themselves. */
  readonly fields?: readonly string[];
  readonly danger?: boolean;
  /** Whether the user may confirm, e.g. because the user has typed the right name. */
  readonly ready?: boolean;
  onClose(): void;
}

/** A dialog that asks for confirmation before `action` runs. It opens when the component is mounted. */
export function ConfirmDialog({
  title,
  children,
  confirm,
  action,
  fields = [],
  danger = false,
  ready = true,
  onClose,
}: ConfirmDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onClose={onClose}>
      <Form
        action={action}
        fields={fields}
        onSubmit={() => {
          if (ready) action.run();
        }}
      >
        <h2 id={titleId}>{title}</h2>
        {children}
        <div class="row end">
          <ActionButton onClick={() => dialog.current?.close()}>Cancel</ActionButton>
          <ActionButton
            type="submit"
            look={danger ? "danger" : "primary"}
            pending={action.pending}
            disabled={!ready}
          >
            {confirm}
          </ActionButton>
        </div>
      </Form>
    </dialog>
  );
}
