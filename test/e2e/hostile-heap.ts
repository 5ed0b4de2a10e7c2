/** How much memory a process holds, garbage apart, asked through Node's inspector. */
/** Flags that start a process so that {@link probeHeap} can look into it; only this machine can. */
export const INSPECTED = ['--inspect=127.0.0.1:0']

export interface HeapProbe {
  /** Bytes in use after a collection: objects, and buffers outside of the heap. */
  used(): Promise<number>
  close(): void
}

/** `said`: what the process wrote to stderr when it started. */
export async function probeHeap(said: string): Promise<HeapProbe> {
  const address = /ws:\/\/127\.0\.0\.1:\d+\/[\w-]+/.exec(said)?.[0]
  if (address === undefined) throw new Error('the process was not started with an inspector')
  const socket = new WebSocket(address)
  const waiting = new Map<number, (result: unknown) => void>()
  let lastId = 0
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', () => reject(new Error('the inspector does not answer')))
  })
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown }
    if (id !== undefined) waiting.get(id)?.(result)
  })
  const ask = (method: string, params: object = {}): Promise<unknown> =>
    new Promise((resolve) => {
      waiting.set(++lastId, resolve)
      socket.send(JSON.stringify({ id: lastId, method, params }))
    })
  return {
    async used() {
      for (let i = 0; i < 2; i++) await ask('HeapProfiler.collectGarbage')
      const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())'
      const { result } = (await ask('Runtime.evaluate', { expression })) as { result: { value: number } }
      return result.value
    },
    close: () => socket.close(),
  }
}
