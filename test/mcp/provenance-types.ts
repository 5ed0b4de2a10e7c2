/** Checked by the compiler alone: an answer that holds a peer's words without their wrapper is not a program. */
import { answer } from '../../src/mcp/answer.ts'
import { createWrapper, type PeerFacts } from '../../src/mcp/provenance.ts'
import { tool, READS } from '../../src/mcp/tool.ts'
import type { ArtifactSlice, Content, EntryView, InboxPage, ThreadView, Untrusted } from '../../src/rpc/client.ts'
import * as z from 'zod'

declare const view: ThreadView
declare const entry: EntryView
declare const page: InboxPage
declare const slice: ArtifactSlice
declare const raw: Untrusted<string>
declare const content: Content<string>
declare const facts: PeerFacts
const wrapper = createWrapper((count) => new Uint8Array(count))

answer(wrapper, { status: view.status, delivery: view.delivery, content: wrapper.show(content, facts) })
// @ts-expect-error a whole thread
answer(wrapper, view)
// @ts-expect-error an entry in a list
answer(wrapper, { entries: [entry] })
// @ts-expect-error an inbox with previews
answer(wrapper, page)
// @ts-expect-error a slice of an artifact
answer(wrapper, { ...slice })
// @ts-expect-error the raw value
answer(wrapper, { text: raw })
// @ts-expect-error content that may be a peer's
answer(wrapper, { deep: [{ content }] })
// @ts-expect-error it is no text
raw satisfies string

// @ts-expect-error a tool gives an answer, not what the node said
tool({ name: 'leak', title: '', description: '', annotations: READS, input: z.strictObject({}), run: async () => view })
