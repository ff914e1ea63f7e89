import { useRef } from "preact/hooks";
import { CopyButton } from "./copy-button";

export interface CodeTabsProps<Name extends string> {
  /** Name of the group of tabs, for screen readers. */
  readonly label: string;
  readonly tabs: readonly { readonly name: Name; readonly label: string }[];
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
  /** The code of the chosen tab. */
  readonly code: string;
}

const PANEL = "code-panel";
const tabId = (name: string) => `code-tab-${name}`;

/** Shows code in one of several languages. The arrow keys, Home and End choose a tab. */
export function CodeTabs<Name extends string>({ label, tabs, chosen, onChoose, code }: CodeTabsProps<Name>) {
  const list = useRef<HTMLDivElement>(null);
  const shown = tabs.find(({ name }) => name === chosen);

  function onKeyDown(event: KeyboardEvent): void {
    const at = tabs.findIndex(({ name }) => name === chosen);
    const last = tabs.length - 1;
    const next = {
      ArrowRight: at === last ? 0 : at + 1,
      ArrowLeft: at === 0 ? last : at - 1,
      Home: 0,
      End: last,
    };
    const to = tabs[next[event.key as keyof typeof next]];
    if (to === undefined) return;
    event.preventDefault();
    onChoose(to.name);
    list.current?.querySelector<HTMLElement>(`#${tabId(to.name)}`)?.focus();
  }

  return (
    <div class="code-tabs">
      <div class="code-head">
        <div class="row tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
          {tabs.map(({ name, label: text }) => (
            <button
              type="button"
              key={name}
              id={tabId(name)}
              class="tab"
              role="tab"
              aria-selected={name === chosen}
              aria-controls={PANEL}
              tabIndex={name === chosen ? 0 : -1}
              onClick={() => onChoose(name)}
            >
              {text}
            </button>
          ))}
        </div>
        <CopyButton text={code} what="the code" />
      </div>
      <div class="code-panel" id={PANEL} role="tabpanel" aria-labelledby={tabId(chosen)}>
        <pre tabIndex={0} aria-label={`Code: ${shown?.label ?? ""}`}>
          <code>{code}</code>
        </pre>
      </div>
    </div>
  );
}
