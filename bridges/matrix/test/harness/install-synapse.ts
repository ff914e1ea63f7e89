import { installFromPypi } from "../../../../test/harness/python-venv";

/**
 * Installs the homeserver that the tests use, unless it is already installed: about 150 MB, in a minute. Returns the path
 * of the Python that runs Synapse. Throws if the installation fails.
 */
export const installSynapse = (say: (line: string) => void): Promise<string> =>
  installFromPypi({ name: "Synapse", package: "matrix-synapse", version: "1.163.2", size: "150 MB" }, say);
