import type { ComponentChildren } from "preact";
import { createContext } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Action } from "../use-action";
import { ErrorNotice } from "./notice";

/** The error of each invalid field, keyed by the field's name. */
export type Faults = Readonly<Record<string, string>>;

export interface FormProps {
  readonly children: ComponentChildren;
  /** The action whose error the form shows. */
  readonly action: Action<[]>;
  /** Names of the fields that show the server's errors themselves. */
  readonly fields?: readonly string[];
  /** The errors of required fields that are empty. The server makes all other checks. */
  readonly missing?: Faults;
  /** Replaces `action.run`, e.g. to ask for confirmation first. */
  onSubmit?(): void;
  readonly class?: string;
}

/** Passes the errors of a form to its fields, which show them. */
export const FormFaults = createContext<Faults>({});

/**
 * A form that shows each error beside its field, and moves the focus to that field. The browser's own checks are
 * disabled: their rules differ from the server's, and their messages look different and cover other fields.
 */
export function Form({ children, action, fields = [], missing = {}, onSubmit, class: className }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [isSubmitted, setSubmitted] = useState(false);
  const { error } = action;
  const isOfField = error?.field !== undefined && fields.includes(error.field);
  const faults = {
    ...(isOfField ? { [error.field ?? ""]: error.message } : {}),
    ...(isSubmitted ? missing : {}),
  };
  const focus = (field = ""): void => {
    const element = form.current?.elements.namedItem(field);
    if (element instanceof HTMLElement) element.focus();
  };
  useEffect(() => {
    if (isOfField) focus(error.field);
  }, [error]);

  function submit(event: Event): void {
    event.preventDefault();
    setSubmitted(true);
    const [first] = Object.keys(missing);
    if (first === undefined) (onSubmit ?? action.run)();
    else focus(first);
  }

  return (
    <form ref={form} noValidate class={className} onSubmit={submit}>
      <FormFaults.Provider value={faults}>{children}</FormFaults.Provider>
      {!isOfField && <ErrorNotice error={error} />}
    </form>
  );
}
