/* log.c — one JSON object a line. */
#include "train/log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "format/json.h"

#define LOG_MOST ((size_t)1 << 30)

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static hec_status put_line(json_t *to, const log_line *l)
{
	const hec_train_scores *s = l->scores;
	HEC_TRY(json_put(to, "step", json_integer(l->step)));
	HEC_TRY(json_put(to, "epoch", json_integer(l->epoch)));
	HEC_TRY(json_put(to, "loss", number(l->loss)));
	HEC_TRY(json_put(to, "valid_loss", number(s ? s->value[HEC_METRIC_LOSS] : NAN)));
	for (int i = HEC_METRIC_LOSS + 1; s && i < HEC_METRICS; i++)
		if (isfinite(s->value[i]))
			HEC_TRY(json_put(to, hec_metric_name((hec_metric)i), number(s->value[i])));
	HEC_TRY(json_put(to, "lr", number(l->lr)));
	HEC_TRY(json_put(to, "grad_norm", number(l->grad_norm)));
	HEC_TRY(json_put(to, "targets", json_integer(l->targets)));
	HEC_TRY(json_put(to, "skipped", json_integer(l->skips)));
	HEC_TRY(json_put(to, "tokens_per_s", number(l->tokens_per_s)));
	return json_put(to, "seconds", number(l->seconds));
}

/* In one write, so that a reader sees whole lines. */
static hec_status append(const char *path, const char *text, size_t size)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return fail(HEC_ERR_IO, "%s: could not be opened: %s", path, strerror(errno));
	off_t before = lseek(fd, 0, SEEK_END);
	ssize_t n = write(fd, text, size);
	int error = errno;
	/* Half a line would spoil the next one, and with it all that a resumed run keeps. */
	if (n > 0 && n < (ssize_t)size && before >= 0 && ftruncate(fd, before) != 0)
		error = errno;
	close(fd);
	if (n == (ssize_t)size)
		return HEC_OK;
	return fail(HEC_ERR_IO, "%s: could not be written: %s", path,
	            n < 0 ? strerror(error) : "it was cut short");
}

hec_status log_add(const char *path, const log_line *line)
{
	json_t *object = json_object();
	char *text = NULL;
	size_t size = 0;
	hec_status status = object ? put_line(object, line)
	                           : fail(HEC_ERR_MEMORY, "%s: no memory for a line", path);
	if (status == HEC_OK)
		status = json_text_make(object, false, &text, &size);
	json_decref(object);
	HEC_TRY(status);
	char *whole = realloc(text, size + 2);
	if (!whole) {
		free(text);
		return fail(HEC_ERR_MEMORY, "%s: no memory for a line", path);
	}
	whole[size] = '\n';
	status = append(path, whole, size + 1);
	free(whole);
	return status;
}

/* The step that a line is about; −1: it is no line of a log. */
static int64_t step_of_line(const char *path, const char *line, size_t size)
{
	json_t *object = NULL;
	int64_t step = -1;
	if (json_text_read(path, line, size, JSON_CONFIG_MOST, &object) != HEC_OK)
		return -1;
	if (!json_whole(json_object_get(object, "step"), &step))
		step = -1;
	json_decref(object);
	return step;
}

hec_status log_cut(const char *path, int64_t step)
{
	char *text;
	size_t size, good = 0, next;
	bool moved = false; /* something was taken out from between */
	if (access(path, F_OK) != 0 && errno == ENOENT)
		return HEC_OK;
	HEC_TRY(file_read(path, LOG_MOST, &text, &size));
	for (size_t line = 0; line < size; line = next) {
		const char *end = memchr(text + line, '\n', size - line);
		if (!end)
			break; /* cut short when the run was killed */
		next = (size_t)(end - text) + 1;
		int64_t at = step_of_line(path, text + line, next - 1 - line);
		if (at < 0 || at > step)
			continue;
		moved = moved || line > good;
		memmove(text + good, text + line, next - line);
		good += next - line;
	}
	hec_status status = HEC_OK;
	if (moved)
		status = file_replace(path, text, good);
	/* No second copy: this must do on a disk that is full, and what stays is not touched. */
	else if (good < size && truncate(path, (off_t)good) != 0)
		status = fail(HEC_ERR_IO, "%s: could not be cut after %zu of %zu bytes: %s", path,
		              good, size, strerror(errno));
	free(text);
	return status;
}
