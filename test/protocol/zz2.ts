import { explore } from './explorer.ts'
import { loadMutant } from './mutant.ts'
const run = async (m: Parameters<typeof loadMutant>[0], w: Parameters<typeof explore>[1]) => {
  const t = performance.now()
  using l = await loadMutant(m)
  const r = explore(l.rules, w)
  console.log(m.name, JSON.stringify(w), r.histories, JSON.stringify([...r.statuses]), (performance.now() - t) | 0, 'ms')
  for (const v of r.violations) console.log(v)
}
const W5 = { senders: 2, recipients: 2, entriesMax: 5, removed: ['r0', 's1'], kinds: ['accept', 'cancel', 'ack'] } as const
await run({ name: 'none', file: 'final.ts', from: 'senders.every((device) =>', to: 'senders.every((device) =>' }, W5)
await run({ name: 'fenced sender', file: 'final.ts', from: 'senders.every((device) =>', to: 'senders.every((device) => isFenced(view, device) ||' }, W5)
const W6 = { senders: 2, recipients: 1, entriesMax: 5, removed: ['r0'], added: true, kinds: ['accept', 'cancel', 'ack'] } as const
await run({ name: 'none', file: 'final.ts', from: 'senders.every((device) =>', to: 'senders.every((device) =>' }, W6)
await run({ name: 'cut wraps', file: 'final.ts', from: 'isVoid(settled, wrap) || isCut(settled, wrap)', to: 'isVoid(view, wrap) || isCut(view, wrap)' }, W6)
