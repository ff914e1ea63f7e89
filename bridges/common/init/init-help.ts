/** Returns the page of `init --help`. */
export function initHelp(name: string, file: string): string {
  return `${name} init: asks for the settings, checks the chat and the workspace, and writes a settings file.

  --file <path>            the settings file (${file}); an existing file gives the defaults
  --replace                replace an existing file without asking
  --ignore-problems        write the file even if a check finds a problem; init writes the file in any case after it has
                           created a workspace, because the file contains the secret of the workspace
  --workspace-name <name>  name of the workspace that is created
  --<setting> <value>      an answer, e.g. --base-url for BASE_URL; a secret needs a file: --signing-secret-file <path>

Environment variables are answers, too. If stdin is not a terminal, init asks nothing, and lists the missing answers.
Without WORKSPACE_ID, init creates a workspace if the service of this checkout runs (npm start), on any ports. If that
service has its own DATA_DIR, set DATA_DIR for init, too. For another service, set CORE_ADDRESS, BASE_URL, and CORE_TOKEN
or CORE_TOKEN_FILE (an operator's token).

${name} --help lists all settings.`;
}
