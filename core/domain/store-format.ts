/**
 * The format of the stored data that this release reads and writes. If a release or its predecessor could misread the
 * other's data, the newer release has a higher format (docs/decisions/0040-store-format.md).
 */
export const FORMAT = 2;

/** The first release of each format. */
const FIRST_RELEASES: Readonly<Record<KnownFormat, string>> = { 1: "1.0.0-beta.1", 2: "1.0.0-beta.2" };

/** The formats to which this release can migrate the data. */
export const KNOWN_FORMATS = [1, 2] as const;
export type KnownFormat = (typeof KNOWN_FORMATS)[number];

/** Returns a text that names the releases that serve a format. */
export function releasesOf(format: KnownFormat): string {
  return format === FORMAT
    ? `${FIRST_RELEASES[format]} and later releases of format ${format}`
    : FIRST_RELEASES[format];
}

function firstRelease(format: number): string | undefined {
  const known = KNOWN_FORMATS.find((each) => each === format);
  return known && FIRST_RELEASES[known];
}

/** The mark in the store that describes its data: see `parseMark`. */
export interface StoreMark {
  /** The number of shards, which is fixed when core starts for the first time. */
  readonly shards: number;
  /** The format of the data; while a migration is in progress, the format before the migration. */
  readonly format: number;
  /** The format to which an unfinished migration converts the data; undefined without such a migration. */
  readonly migratingTo?: number | undefined;
  /** The first release of the format; undefined for format 1. */
  readonly since?: string | undefined;
  /** Number of events that the last migration could not convert, until a core has logged this number. */
  readonly unserved?: number | undefined;
}

/** Returns the mark of data in the given format, by default the format of this release. */
export function markOf(shards: number, format = FORMAT, unserved?: number): StoreMark {
  return { shards, format, since: firstRelease(format), unserved };
}

/**
 * Returns the stored form of a mark, e.g. "16 format=2 since=1.0.0-beta.2". In format 1, the stored form is only the
 * number of shards. Cores of format 1 compare the stored form with SHARDS as text. So they do not start if the mark has
 * another format, or during a migration.
 */
export function printMark({ shards, format, since, migratingTo, unserved }: StoreMark): string {
  if (migratingTo !== undefined) return `${shards} format=${format} migrating=${migratingTo}`;
  if (format === 1) return String(shards);
  const words = [
    `format=${format}`,
    since && `since=${since}`,
    unserved !== undefined && `unserved=${unserved}`,
  ];
  return [String(shards), ...words.filter(Boolean)].join(" ");
}

const MARK_FORM = /^(\d{1,4})((?: [a-z]+=[\w.+-]+)*)$/;
const NUMBER_FORM = /^\d{1,15}$/;

/**
 * Parses the stored form of a mark; undefined if it is invalid. Words that this release does not know are ignored, because
 * a newer format may add them.
 */
export function parseMark(text: string): StoreMark | undefined {
  const [, shards, words = ""] = MARK_FORM.exec(text) ?? [];
  if (shards === undefined) return undefined;
  const known = new Map(words.split(" ").map((word) => word.split("=", 2) as [string, string]));
  const numberOf = (name: string): number | undefined => {
    const value = known.get(name);
    return value === undefined || !NUMBER_FORM.test(value) ? undefined : Number(value);
  };
  const format = words === "" ? 1 : numberOf("format");
  if (format === undefined) return undefined;
  const [migratingTo, unserved] = [numberOf("migrating"), numberOf("unserved")];
  return { shards: Number(shards), format, since: known.get("since"), migratingTo, unserved };
}

/** Returns why the given number of shards does not fit the mark; undefined when it fits. */
export function findShardsFault(text: string, shards: number): string | undefined {
  const mark = parseMark(text);
  if (mark === undefined)
    return `cb:shards in this Redis has the value ${JSON.stringify(text.slice(0, 100))}, which this release does not understand: see docs/upgrade.md`;
  return mark.shards === shards
    ? undefined
    : `SHARDS is ${shards}, but this Redis was first used with ${mark.shards}: set SHARDS=${mark.shards}`;
}

/**
 * Returns why a core of this release, with the given number of shards, cannot use a store with this mark, and what to
 * do. Returns undefined when the core can use the store.
 */
export function findMarkFault(text: string, shards: number): string | undefined {
  const mark = parseMark(text);
  if (mark?.shards !== shards) return findShardsFault(text, shards);
  if (mark.migratingTo !== undefined)
    return `a migration of this Redis to format ${mark.migratingTo} has not finished: if no migration runs, run it again with core's settings: node dist/core/main.js migrate --to ${mark.migratingTo} (docs/upgrade.md)`;
  if (mark.format < FORMAT)
    return `this Redis has data in format ${mark.format}, of release ${firstRelease(mark.format) ?? "unknown"} or a build before ${FIRST_RELEASES[FORMAT]}, but this release serves format ${FORMAT}: stop all cores, and run with core's settings: node dist/core/main.js migrate (docs/upgrade.md)`;
  if (mark.format > FORMAT)
    return `this Redis has data in format ${mark.format}, of release ${mark.since ?? "unknown"} or newer, but this release serves format ${FORMAT}: start that release, or stop all cores, and run with its files and core's settings: node dist/core/main.js migrate --to ${FORMAT} (docs/upgrade.md)`;
  return undefined;
}

/** Returns why this release cannot convert a store with this mark to the format `to`; undefined when it can. */
export function findMigrationFault(text: string, shards: number, to: KnownFormat): string | undefined {
  const mark = parseMark(text);
  if (mark?.shards !== shards) return findShardsFault(text, shards);
  if (mark.format > FORMAT || (mark.migratingTo ?? 0) > FORMAT)
    return `this Redis has data in format ${mark.format}, of release ${mark.since ?? "unknown"} or newer, which this release cannot convert: use the files of that release`;
  if (mark.migratingTo !== undefined && mark.migratingTo !== to)
    return `a migration to format ${mark.migratingTo} was interrupted: complete it first, with migrate --to ${mark.migratingTo}`;
  return undefined;
}
