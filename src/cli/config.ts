/** relay-node config: every setting, its value and where it comes from. */
import type { Command } from './context.ts'
import { readSettings, SETTING_KEYS } from './settings.ts'

export const run: Command<object> = async ({ home, printer }) => {
  const { settings, source } = readSettings(home)
  const rows = SETTING_KEYS.map((key) => ({ key, value: settings[key], source: source[key] }))
  printer.result({ file: home.config, settings: rows }, () => {
    for (const { key, value, source: from } of rows) {
      printer.line(`${key.padEnd(11)} = ${JSON.stringify(value)}  ${printer.styled('dim', `(${from})`)}`)
    }
    printer.line(`File: ${home.config}. A change counts from the next start of the node.`)
  })
}
