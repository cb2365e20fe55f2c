/* hecate.h — Transformers in C: everything at once. Each header also stands alone. */
#ifndef HECATE_HECATE_H
#define HECATE_HECATE_H

#include <hecate/activation.h>
#include <hecate/adamw.h>
#include <hecate/answer.h>
#include <hecate/arena.h>
#include <hecate/attention.h>
#include <hecate/audio.h>
#include <hecate/chat.h>
#include <hecate/classify.h>
#include <hecate/context.h>
#include <hecate/corpus.h>
#include <hecate/decode.h>
#include <hecate/decoder_layer.h>
#include <hecate/dropout.h>
#include <hecate/embed.h>
#include <hecate/embedding.h>
#include <hecate/encoder_layer.h>
#include <hecate/feed_forward.h>
#include <hecate/fill.h>
#include <hecate/generate.h>
#include <hecate/info.h>
#include <hecate/linear.h>
#include <hecate/loss.h>
#include <hecate/model.h>
#include <hecate/model_config.h>
#include <hecate/multi_head.h>
#include <hecate/norm.h>
#include <hecate/ops.h>
#include <hecate/param.h>
#include <hecate/position.h>
#include <hecate/random.h>
#include <hecate/score.h>
#include <hecate/session.h>
#include <hecate/status.h>
#include <hecate/tensor.h>
#include <hecate/tensor_file.h>
#include <hecate/tokenizer.h>
#include <hecate/train.h>
#include <hecate/trainer.h>
#include <hecate/translate.h>
#include <hecate/version.h>
#include <hecate/view.h>
#include <hecate/width.h>

#endif
