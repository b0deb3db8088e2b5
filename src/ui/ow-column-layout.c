/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-column-layout-private.h"

#define SPACING_MAX 100

struct _OwColumnLayout
{
  GtkLayoutManager parent_instance;

  int              spacing;
};

enum { PROP_SPACING = 1, N_PROPS };

static GParamSpec *properties[N_PROPS];

G_DEFINE_FINAL_TYPE (OwColumnLayout, ow_column_layout, GTK_TYPE_LAYOUT_MANAGER)

static void
ow_column_layout_get_property (GObject    *object,
                               guint       id,
                               GValue     *value,
                               GParamSpec *pspec)
{
  switch (id)
    {
    case PROP_SPACING:
      g_value_set_int (value, OW_COLUMN_LAYOUT (object)->spacing);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
ow_column_layout_set_property (GObject      *object,
                               guint         id,
                               const GValue *value,
                               GParamSpec   *pspec)
{
  switch (id)
    {
    case PROP_SPACING:
      OW_COLUMN_LAYOUT (object)->spacing = g_value_get_int (value);
      gtk_layout_manager_layout_changed (GTK_LAYOUT_MANAGER (object));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static GtkSizeRequestMode
ow_column_layout_get_request_mode (GtkLayoutManager *manager,
                                   GtkWidget        *widget)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

static void
ow_column_layout_measure (GtkLayoutManager *manager,
                          GtkWidget        *widget,
                          GtkOrientation    orientation,
                          int               for_size,
                          int              *minimum,
                          int              *natural,
                          int              *minimum_baseline,
                          int              *natural_baseline)
{
  OwColumnLayout *self = OW_COLUMN_LAYOUT (manager);
  gboolean across = orientation == GTK_ORIENTATION_HORIZONTAL;
  guint n = 0;

  *minimum = 0;
  *natural = 0;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      int min;
      int nat;

      if (!gtk_widget_should_layout (child))
        continue;
      gtk_widget_measure (child, orientation, across ? -1 : for_size, &min, &nat, NULL, NULL);
      *minimum = across ? MAX (*minimum, min) : *minimum + min;
      *natural = across ? MAX (*natural, nat) : *natural + nat;
      n++;
    }
  if (!across && n > 1)
    {
      *minimum += (int) (n - 1) * self->spacing;
      *natural += (int) (n - 1) * self->spacing;
    }
}

/* Natural heights where there is room for all of them, else the least. */
static void
ow_column_layout_allocate (GtkLayoutManager *manager,
                           GtkWidget        *widget,
                           int               width,
                           int               height,
                           int               baseline)
{
  OwColumnLayout *self = OW_COLUMN_LAYOUT (manager);
  int y = 0;
  int all;

  gtk_widget_measure (widget, GTK_ORIENTATION_VERTICAL, width, NULL, &all, NULL, NULL);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      int min;
      int nat;

      if (!gtk_widget_should_layout (child))
        continue;
      gtk_widget_measure (child, GTK_ORIENTATION_VERTICAL, width, &min, &nat, NULL, NULL);
      nat = height >= all ? nat : min;
      gtk_widget_size_allocate (child, &(GtkAllocation){ 0, y, width, nat }, -1);
      y += nat + self->spacing;
    }
}

static void
ow_column_layout_class_init (OwColumnLayoutClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GtkLayoutManagerClass *layout_class = GTK_LAYOUT_MANAGER_CLASS (klass);

  object_class->get_property = ow_column_layout_get_property;
  object_class->set_property = ow_column_layout_set_property;
  layout_class->get_request_mode = ow_column_layout_get_request_mode;
  layout_class->measure = ow_column_layout_measure;
  layout_class->allocate = ow_column_layout_allocate;

  properties[PROP_SPACING] = g_param_spec_int ("spacing", NULL, NULL, 0, SPACING_MAX, 0,
                                               G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
ow_column_layout_init (OwColumnLayout *self)
{
}
