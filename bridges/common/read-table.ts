import { parseEnv } from "node:util";
import { BRIDGE_SETTINGS, checkBridgeSettings, type BridgeSettings } from "./bridge-settings";
import { readSettings, SettingsError, type Read, type Settings } from "../../runtime/settings";
import { readText, withSecretFiles, type SettingTable, type ValuesOf } from "./setting";

/** The settings that only one bridge has. */
export interface OwnSettings<Table extends SettingTable> {
  readonly settings: Table;
  /** Reports invalid combinations of settings. */
  check?(values: ValuesOf<Table>, settings: Pick<Settings, "fault">): void;
}

type Misspelled = Pick<Read<object>, "misspelled">;

/**
 * Returns the environment variables and the settings from the file. An environment variable overrides a setting from
 * the file.
 */
export function environmentOf(file: string | undefined): NodeJS.Dict<string> {
  if (file === undefined) return process.env;
  try {
    return { ...parseEnv(readText(file)), ...process.env };
  } catch (error) {
    const { code = "invalid" } = error as NodeJS.ErrnoException;
    throw new SettingsError([`--config names a file that cannot be read (${code}): give the path of a file`]);
  }
}

/** Returns the values of all settings. Throws `SettingsError` with all faults. */
export function readAll<Table extends SettingTable>(
  own: OwnSettings<Table>,
  environment: NodeJS.Dict<string>,
): BridgeSettings & ValuesOf<Table> & Misspelled {
  const settings = { ...BRIDGE_SETTINGS, ...own.settings };
  return readTable(
    {
      settings,
      check(values, to) {
        checkBridgeSettings(values as BridgeSettings, to);
        own.check?.(values as unknown as ValuesOf<Table>, to);
      },
    },
    environment,
  );
}

/** Returns the values of the settings of a table. Throws `SettingsError` with all faults. */
export function readTable<Table extends SettingTable>(
  { settings: table, check }: OwnSettings<Table>,
  environment: NodeJS.Dict<string>,
): ValuesOf<Table> & Misspelled {
  const unread: string[] = [];
  const complete = withSecretFiles(table, environment, (line) => unread.push(line));
  const values = readSettings(complete, (settings) => {
    for (const line of unread) settings.fault(line);
    const read = Object.entries(table).map(([name, setting]) => [name, setting.read(settings, name)]);
    return Object.fromEntries(read) as object;
  }) as ValuesOf<Table> & Misspelled;
  const faults: string[] = [];
  check?.(values, { fault: (line) => void faults.push(line) });
  if (faults.length > 0) throw new SettingsError(faults);
  return values;
}
