import { findAptProgram } from "./apt-program";

const CHROMIUM = {
  name: "Chromium",
  commands: ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"],
  package: "chromium",
  size: "400 MB",
};

/**
 * Returns the path of Chromium. If Chromium is missing, installs it with apt-get. Throws if the installation is not
 * permitted or fails.
 */
export function findChromium(say?: (line: string) => void): Promise<string> {
  return findAptProgram(CHROMIUM, say);
}
