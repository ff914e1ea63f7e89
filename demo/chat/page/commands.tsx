import { useEffect, useState } from "preact/hooks";
import { COMMAND } from "../shapes";
import { useSettled } from "./use-settled";

/** Commands that have a button. All commands can also be typed. */
const COMMANDS = [
  ["Start a game", "start"],
  ["Suggest a topic", "suggest"],
  ["Help", ""],
] as const;
/** Milliseconds after which a command is no longer marked as pending, if no message answers it. */
const UNANSWERED_MS = 4_000;

export interface CommandsProps {
  /**
   * Place of the newest message from the service, in any conversation. When a newer message arrives, the pressed
   * command is no longer marked as pending.
   */
  readonly answeredAt: number;
  onCommand(text: string): void;
}

/** The buttons that send commands. A pressed command is marked as pending until a message from the service arrives. */
export function Commands({ answeredAt, onCommand }: CommandsProps) {
  const isSettled = useSettled("commands");
  const [last, setLast] = useState<{ readonly command: string; readonly sentAt: number } | undefined>(
    undefined,
  );
  const pending = last?.sentAt === answeredAt ? last.command : undefined;
  useEffect(() => {
    if (last === undefined) return undefined;
    const timer = setTimeout(() => setLast(undefined), UNANSWERED_MS);
    return () => clearTimeout(timer);
  }, [last]);
  const isOpen = isSettled && pending === undefined;
  return (
    <div class="commands" role="group" aria-label="Commands">
      {COMMANDS.map(([label, command]) => (
        <button
          key={command}
          type="button"
          class="chip"
          title={`${COMMAND} ${command}`}
          aria-disabled={!isOpen}
          aria-busy={pending === command}
          onClick={() => {
            if (!isOpen) return;
            setLast({ command, sentAt: answeredAt });
            onCommand(`${COMMAND} ${command}`);
          }}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
