/**
 * Every bound of the protocol, unit last.
 *
 * The first group are rules: part of version 1, counted over an entry's own past, so that every
 * peer agrees on them. The second group are quotas: local, they may differ between peers, and
 * they never decide whether an entry counts.
 */

// Rules.
export const PROTOCOL_VERSION = 1
export const HEADER_SIZE_BYTES_MAX = 8 * 1024
/** Padded plaintext of a body. The ciphertext is {@link AEAD_TAG_BYTES} longer. */
export const BODY_SIZE_BYTES_MAX = 256 * 1024
/** A body, envelope or chunk is padded to the smallest of these that holds it. */
export const PADDED_SIZES_BYTES = [256, 1024, 4096, 16 * 1024, 64 * 1024, 256 * 1024] as const
export const AEAD_TAG_BYTES = 16
export const DEPS_COUNT_MAX = 16
export const SIDE_DEVICES_COUNT_MAX = 8
export const CBOR_DEPTH_MAX = 8
export const CBOR_MAP_KEYS_COUNT_MAX = 32
/** message, revise, annotate, resolve, approve and share of one device in one thread. */
export const DEVICE_TURNS_COUNT_MAX = 400
/** The part of {@link DEVICE_TURNS_COUNT_MAX} that a sender device may use while the thread is pending. */
export const PENDING_TURNS_COUNT_MAX = 64
export const DEVICE_WRAPS_COUNT_MAX = 32
export const OLDER_KEYS_COUNT_MAX = 32
export const LACK_COUNT_MAX = 32
export const LACK_CHANGES_COUNT_MAX = 100
export const REVISE_BASE_COUNT_MAX = 16
export const NAME_LENGTH_CHARS_MAX = 32
/** Plain bytes of every chunk of an artifact but the last: what the largest padded size holds. */
export const CHUNK_SIZE_BYTES = 256 * 1024 - 4
/** Chunks of one artifact. */
export const CHUNKS_COUNT_MAX = 4096
export const ROSTER_ENTRY_SIZE_BYTES_MAX = 32 * 1024
export const BOOTSTRAP_ADDRESSES_COUNT_MAX = 16
export const ADDRESS_SIZE_BYTES_MAX = 256

// Quotas.
export const ARTIFACTS_COUNT_MAX = 16
/** Content of one artifact, and of all artifacts of a thread. */
export const ARTIFACT_SIZE_BYTES_MAX = 8 * 1024 * 1024
export const THREAD_ARTIFACTS_SIZE_BYTES_MAX = 32 * 1024 * 1024
export const SENDER_OPEN_THREADS_COUNT_MAX = 50
/** Entries that are kept of a device that forked in a thread. */
export const FORKED_ENTRIES_COUNT_MAX = 1024
export const WAITING_ENTRIES_COUNT_MAX = 256
export const WAITING_SIZE_BYTES_MAX = 4 * 1024 * 1024
export const FRAME_SIZE_BYTES_MAX = 320 * 1024
export const GOSSIP_SIZE_BYTES_MAX = 16 * 1024
export const PREVIEW_LENGTH_CHARS_MAX = 240
export const INBOX_PAGE_COUNT_DEFAULT = 50
export const INBOX_PAGE_COUNT_MAX = 200
export const INBOX_WAIT_S_MAX = 50
export const SEARCH_PAGE_COUNT_DEFAULT = 20
export const SEARCH_PAGE_COUNT_MAX = 100
export const SEARCH_QUERY_LENGTH_CHARS_MAX = 500
export const SEARCH_WORDS_COUNT_MAX = 32
export const WRITES_PER_MINUTE_COUNT_MAX = 60
export const THREAD_TURNS_COUNT_MAX = 100
export const IDEMPOTENCY_TTL_MS = 24 * 60 * 60 * 1000
export const INVITE_TTL_MS = 24 * 60 * 60 * 1000
export const ARTIFACT_READ_BYTES_DEFAULT = 16 * 1024
export const ARTIFACT_READ_BYTES_MAX = 32 * 1024
export const ANSWER_LENGTH_CHARS_MAX = 40_000
export const JOIN_STRANGERS_COUNT_MAX = 4
export const JOIN_TTL_MS = 30_000
/** Removed devices that are told so at the same time, and how long each may take to hear it. */
export const FAREWELLS_COUNT_MAX = 4
export const FAREWELL_TTL_MS = 10_000
/** Threads that removed devices began, and that a node keeps apart. */
export const QUARANTINE_COUNT_MAX = 50
export const REFUSED_KEPT_COUNT_MAX = 64
/** Sealed bodies that a node keeps for others: all of them, those of one author, how many, and for how long. */
export const CARRIED_SIZE_BYTES_MAX = 256 * 1024 * 1024
export const CARRIED_AUTHOR_SIZE_BYTES_MAX = 64 * 1024 * 1024
export const CARRIED_COUNT_MAX = 4096
export const CARRIED_TTL_MS = 30 * 24 * 60 * 60 * 1000
/** Entries of one author, without bodies, in threads that this node takes no part in. */
export const FOREIGN_AUTHOR_SIZE_BYTES_MAX = 64 * 1024 * 1024
/** Carriers of one entry that its author remembers. */
export const CARRIERS_COUNT_MAX = 16
/** A sealed item: the largest padded size and what sealing adds. */
export const MAILBOX_ITEM_SIZE_BYTES_MAX = 64 * 1024 + 256
/** Items that one message names, and that a mailbox holds. */
export const MAILBOX_ITEMS_COUNT_MAX = 2048
export const MAILBOX_TTL_MS_MAX = 30 * 24 * 60 * 60 * 1000
/** What one item holds before it is sealed: the content of the padded size below its own. */
export const MAIL_SIZE_BYTES_MAX = 64 * 1024 - 4
/** A piece of a sealed body that does not fit into one item with its entry, and how many there may be. */
export const MAIL_PIECE_SIZE_BYTES_MAX = 60 * 1024
export const MAIL_PIECES_COUNT_MAX = 8
