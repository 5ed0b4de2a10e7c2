/** relay-node paths: where everything lies. */
import type { Home } from '../home.ts'
import type { Command } from './context.ts'

const LABELS: Record<keyof Home, string> = {
  home: 'everything of this node',
  config: 'settings',
  store: 'handoffs, roster, keys of threads',
  socket: 'local interface',
  log: 'log',
  key: 'device key: never copy it to another laptop',
}

export const run: Command<object> = async ({ home, printer }) => {
  printer.result(home, () => {
    for (const [name, label] of Object.entries(LABELS)) {
      printer.line(`${name.padEnd(7)} ${home[name as keyof Home]}  ${printer.styled('dim', `(${label})`)}`)
    }
  })
}
